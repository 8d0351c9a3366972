"""What people need to know about the data sets beyond their files: licences, faults, sources, citations."""

from sgeval.data.kinds import Licence

WHERE = {
    "psg": "https://psgdataset.org and https://github.com/Jingkang50/OpenPSG, by their links to OneDrive",
    "vg": "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/",
    "vg_pictures": "https://cs.stanford.edu/people/rak248/VG_100K_2/: images.zip (9 GB), images2.zip (5 GB)",
    "vg150": "https://github.com/KaihuaTang/Scene-Graph-Benchmark.pytorch/blob/master/DATASET.md",
    "ssg": "https://github.com/LUNAProject22/SSG, by its link to Google Drive",
    "fgov": "the authors of arXiv 2509.01209; no file is published",
    "rlipv2": "https://github.com/JacobYuan7/RLIPv2",
    "pvsg": "https://huggingface.co/datasets/Jingkang/PVSG",
    "vidor": "https://huggingface.co/datasets/shangxd/vidor or https://xdshang.github.io/docs/vidor.html",
}

LICENCES = {
    "psg": Licence(
        "other",
        "The authors' repository is under the MIT licence; for the annotation files none is stated. Panoptic masks are those "
        "of COCO 2017 (CC BY 4.0), pictures belong to users of Flickr, each under terms of its own.",
        "Use for research is what they were published for. Passing the annotations on is not granted in writing.",
        "nothing",
    ),
    "visual_genome": Licence(
        "cc-by-4.0",
        "Annotations: CC BY 4.0. Pictures come from Flickr (by way of COCO and YFCC100M), each under terms of its own.",
        "Annotations may be used, changed and passed on, also for money, with the authors named.",
        "annotations",
    ),
    "vg150": Licence(
        "cc-by-4.0",
        "Annotations are a part of Visual Genome's, CC BY 4.0; the files and the dictionary come from repositories under the "
        "MIT licence. Pictures as in Visual Genome.",
        "Annotations may be used, changed and passed on, also for money, with the authors named.",
        "annotations",
    ),
    "ssg": Licence(
        "other",
        "No licence is stated. Action Genome's code is under the MIT licence; Charades, whose videos the frames come from, "
        "is for non-commercial use.",
        "Use for research is what they were published for. Passing them on is not granted.",
        "nothing",
    ),
    "fgov": Licence(
        "other",
        "No licence is stated, and no file is published. Pictures of COCO and Objects365 have terms of their own.",
        "Whatever the authors grant to whoever they give the files to.",
        "nothing",
    ),
    "pvsg": Licence(
        "other",
        "The data set's card on the Hub says MIT; the authors' code is under the S-Lab License 1.0, for non-commercial use. "
        "Videos of Ego4D, EPIC-KITCHENS and VidOR have terms of their own.",
        "Use for research is what it was published for; keep to non-commercial use, since the two grants differ.",
        "nothing",
    ),
    "vidor": Licence(
        "cc-by-sa-4.0",
        "The data set's card on the Hub says CC BY-SA 4.0. Videos come from Flickr (YFCC100M), each under terms of its own.",
        "Annotations may be used, changed and passed on under the same licence, with the authors named.",
        "annotations",
    ),
}

FAULTS = {
    "psg": (
        '"val" has two meanings: the 1,000 val pictures of the competition are a part of the full set\'s test pictures.',
        "Relations of the competition's test pictures were emptied by the publisher.",
        "9 of the 2,186 test pictures have no relation; papers report on 2,177.",
        "Repeated triplets and several predicates on one pair are normal.",
        "Some COCO pictures stand under two ids. One id appears to stand twice: 48,749 distinct ids in 48,750 records.",
        'Some labels are left over from a mapping of Visual Genome ("person wearing person").',
        "Segment ids are those of the panoptic masks, not those of COCO's instances.",
    ),
    "visual_genome": (
        "No official split: everything is in `train`, since the host wants a name.",
        "Boxes reach far outside the picture, down to y = -904. Nothing is clipped.",
        "Some sizes in image_data.json are not those of the pictures.",
        "Pictures 1592, 1722, 4616 and 4617 are broken; some 170 more have been reported empty.",
        "VG_100K and VG_100K_2 hold different pictures; each is looked for in the folder that its address names.",
        "Predicates and names are free text, in mixed case, some with blanks at the end; synsets may be missing.",
        "Ends of relations may be objects that were merged into others; they are resolved, the old id stays in `extra`.",
        "Counts differ between releases 1.0, 1.2 and 1.4.",
    ),
    "vg150": (
        "Rows belong to image_data.json without the pictures 1592, 1722, 4616 and 4617.",
        "The published code cuts box edges towards zero, up to one unit of 1024 off; config `exact` does not.",
        "`val` is the first 5,000 train rows with boxes and relations; papers drop all rows without relations, nothing is "
        "dropped here.",
        "Wrong sizes in image_data.json scale the boxes of those pictures wrongly.",
        "man, men, person and people overlap as classes. Repeated relations exist.",
        "A download cut short at 146,680,184 of 150,724,042 bytes has been reported.",
    ),
    "ssg": (
        "Boxes of objects are x, y, width, height in the source, those of persons are corners.",
        "Spatial relations go from the object to the person, all others from the person to the object.",
        "Invisible objects have neither box nor relations.",
        "Frame numbers depend on the version of ffmpeg that dumped them.",
        "The released code uses a list of videos in which a missing comma joins two names; that list is not in the files.",
        "A frame without objects has no split and is in neither `train` nor `test`.",
        "Roles `state` and `purpose` exist for a part of the objects only.",
    ),
    "fgov": (
        "Relations were written by a model, not annotated by people.",
        "Exact repeats and several predicates on one pair are expected.",
        "Sizes of pictures are not in the file; width and height are null.",
        "relationship_id need not be unique; object_id counts on through the file.",
        'Some names of Objects365 end in a blank ("Table Tennis ").',
        "`train` and `val` are the splits of COCO or Objects365 that a picture comes from; the set has none of its own.",
    ),
    "pvsg": (
        'Some predicates ("squatting on") are not in the class list: `predicate_id` is -1. Published training code passes '
        "over them.",
        "Relations hold by design while an end of theirs is not to be seen.",
        "Some spans reach beyond the clip, or lie wholly past its end. They are kept and flagged in `extra`.",
        "Published code reads spans one frame short; both ends are inside.",
        "Which of the three sources a video has is said by `split`, not by its name.",
        "Some frames have a mask that is background all over.",
        "Frames dumped with OpenCV can be fewer than masks. `num_frames` of them are looked for, from 0000.png on.",
        "The archives hold junk paths, and names of frames repeat from video to video: unpack each video into a folder of "
        "its own. How the archives of masks are nested is not sure.",
        "Class names contain misspellings (ballon, vaccum, scissor); they are left as they are.",
    ),
    "vidor": (
        "frame_count can be higher than the number of frames with boxes; the lower is taken, and flagged in `extra`.",
        "An object may have no box in frames inside a relation of it.",
        "Many relations repeat a triplet, each with its own span. They are kept apart.",
        'Names hold "/", "_" and brackets ("ball/sports_ball", "play(instrument)").',
        "No file holds a class list, so `category_id` and `predicate_id` are -1. The authors count 80 categories and 50 "
        "predicates (42 actions, 8 of space).",
        "Annotations of the 2,165 test videos are not public.",
        "Some videos were withdrawn from Flickr.",
        "The names of the archives on the Hub (training-annotation.zip, …) are not sure.",
    ),
}

_VISUAL_GENOME = """@article{krishna2017visual,
  title   = {Visual Genome: Connecting Language and Vision Using Crowdsourced Dense Image Annotations},
  author  = {Krishna, Ranjay and Zhu, Yuke and Groth, Oliver and Johnson, Justin and Hata, Kenji and Kravitz, Joshua and
             Chen, Stephanie and Kalantidis, Yannis and Li, Li-Jia and Shamma, David A. and Bernstein, Michael S. and
             Fei-Fei, Li},
  journal = {International Journal of Computer Vision},
  year    = {2017}
}"""

CITATIONS = {
    "psg": """@inproceedings{yang2022panoptic,
  title     = {Panoptic Scene Graph Generation},
  author    = {Yang, Jingkang and Ang, Yi Zhe and Guo, Zujin and Zhou, Kaiyang and Zhang, Wayne and Liu, Ziwei},
  booktitle = {European Conference on Computer Vision},
  year      = {2022}
}""",
    "visual_genome": _VISUAL_GENOME,
    "vg150": """@inproceedings{xu2017scene,
  title     = {Scene Graph Generation by Iterative Message Passing},
  author    = {Xu, Danfei and Zhu, Yuke and Choy, Christopher B. and Fei-Fei, Li},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  year      = {2017}
}

"""
    + _VISUAL_GENOME,
    "ssg": """@inproceedings{sugandhika2025situational,
  title     = {Situational Scene Graph for Structured Human-centric Situation Understanding},
  author    = {Sugandhika, Chinthani and Li, Chen and Rajan, Deepu and Fernando, Basura},
  booktitle = {Winter Conference on Applications of Computer Vision},
  year      = {2025},
  note      = {arXiv:2410.22829}
}""",
    "fgov": """@inproceedings{neau2025measuring,
  title     = {Measuring Image-Relation Alignment: Reference-Free Evaluation of {VLMs} and Synthetic Pre-training for
               Open-Vocabulary Scene Graph Generation},
  author    = {Neau, Maëlic and Falomir, Zoe and Buche, Cédric and Sugimoto, Akihiro},
  booktitle = {International Conference on Computer Vision Workshops},
  year      = {2025},
  note      = {arXiv:2509.01209}
}""",
    "pvsg": """@inproceedings{yang2023panoptic,
  title     = {Panoptic Video Scene Graph Generation},
  author    = {Yang, Jingkang and Peng, Wenxuan and Li, Xiangtai and Guo, Zujin and Chen, Liangyu and Li, Bo and Ma, Zheng and
               Zhou, Kaiyang and Zhang, Wayne and Loy, Chen Change and Liu, Ziwei},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  year      = {2023}
}""",
    "vidor": """@misc{shang_vidor,
  title  = {Annotating Objects and Relations in User-Generated Videos},
  author = {Shang, Xindi and Di, Donglin and Xiao, Junbin and Cao, Yu and Yang, Xun and Chua, Tat-Seng}
}""",
}
